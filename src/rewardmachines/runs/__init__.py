"""What every run that is a folder needs: settings, records, tensors, interruption. No agent is known here."""
