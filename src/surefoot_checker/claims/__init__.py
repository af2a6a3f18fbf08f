"""What a certificate may claim, and what each claim needs: one folder for each kind."""
