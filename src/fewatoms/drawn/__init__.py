"""What is drawn of an answer: numbers and names, a file for each picture. Displays and reports share them; nothing here
knows how to draw."""
