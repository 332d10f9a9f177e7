"""The parts of the suite, one module each: `measure(quick)` returns the rows."""
