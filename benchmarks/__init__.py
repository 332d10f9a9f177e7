"""What things cost, each beside what else there is."""
