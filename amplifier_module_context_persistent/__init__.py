"""Durable memory for long-running Amplifier agent sessions."""
