"""Known answers for devices in any language, see docs/device_programs.md."""
