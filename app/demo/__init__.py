"""Running the tasks that ship, with faults put in where they are wanted."""
