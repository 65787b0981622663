"""Database of the control plane: records, transactions, migrations."""
