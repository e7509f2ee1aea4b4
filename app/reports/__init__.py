"""Reports of an audit: a page to look at (`html`), and for CI servers (`junit`)."""
