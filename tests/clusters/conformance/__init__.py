"""The conformance suite of the store: scenarios that are played on several servers alike."""
