"""What this machine has, and the state it is in: devices, memory, sensors, instructions that really execute."""
