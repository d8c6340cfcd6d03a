# Sends a datagram with a descriptor to a server outside, from one of a pair of sockets.
# needs: outside
from escape import *
import array, socket
s, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
carried = array.array("i", [os.open("/proc/self/ns/mnt", os.O_RDONLY)])
s.sendmsg([b"hello"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, carried)], 0, "d.sock")
print("sent")
