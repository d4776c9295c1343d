"""What more than one study uses."""
