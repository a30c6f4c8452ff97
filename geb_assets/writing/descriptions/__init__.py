"""What each encounter shows and what the record says of it (paper 3.3; appendix F, Figure 7)."""
