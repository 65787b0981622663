"""Arguments that several verbs take."""
