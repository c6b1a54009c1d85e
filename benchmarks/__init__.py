"""What is measured, and how: see docs/benchmarks.md. Each module runs by itself: ``python -m benchmarks.speed``."""
