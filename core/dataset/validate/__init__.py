"""Whether episodes can be trusted: rules, a report, and waivers that travel along."""
