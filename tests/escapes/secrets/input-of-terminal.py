# Reads from the terminal that started metier, as if to ask for a password.
# needs: terminal
from escape import *
fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
os.write(fd, b"")
escaped("the terminal outside is open for questions")
