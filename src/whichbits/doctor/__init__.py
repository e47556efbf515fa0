"""What is wrong with this machine, an interpreter or a study, before anything is started."""
