"""Tables of pipelines: versions, secrets, targets, previews, moves, rehearsals, lineages."""
