# Learns the machine's network cards.
# control: needs a network card
from escape import *
import socket
common = {"lo", "sit0", "tunl0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6gre0"}
names = set()
for line in open("/proc/net/dev").read().splitlines()[2:]:
    names.add(line.split(":")[0].strip())
if names - common:
    escaped(f"{len(names - common)} network cards were seen")
held("only a loopback")
