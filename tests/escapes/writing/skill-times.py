# Sets the times of the skill's files, so that a cache believes them unchanged.
from escape import *
os.utime(E["OUTSIDE_SKILL"] + "/SKILL.md", (1, 1))
print("changed")
