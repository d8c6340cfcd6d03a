# Learns the neighbours in the network and the ways to them.
# control: needs a network card
from escape import *
for path in ("/proc/net/route", "/proc/net/arp", "/proc/net/fib_trie", "/proc/net/if_inet6"):
    try:
        text = open(path).read()
    except OSError:
        continue
    if any(card in text for card in ("eth", "enp", "ens", "wl", "192.", "10.0.")):
        escaped(f"{path} tells of the network")
held("no network")
