"""The audit: checks that look at a recording and yield findings.

`findings` says what a finding is, `context` what a check may look at, `registry` which
checks there are, and `audit` runs them. One check, one module in `checks`, one id.
"""
