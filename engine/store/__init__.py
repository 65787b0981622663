"""The control plane's memory: records, transactions, migrations."""
