# Reads the shell's history in the home that any of the user's processes names.
# needs: outside
from escape import *
where = {os.path.expanduser("~"), E["OUTSIDE_HOME"]}
for home in where:
    for file in (".bash_history", ".netrc", ".git-credentials"):
        try:
            token_in(open(os.path.join(home, file)).read(), file)
        except OSError:
            pass
held("no history")
