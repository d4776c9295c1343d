"""What a fitted detector knows: scaling, networks, threshold, reasons."""
