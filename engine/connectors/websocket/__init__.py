"""Messages of WebSocket servers."""
