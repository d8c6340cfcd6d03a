# Enters the namespaces of whoever started this with nsenter.
# control: root-only
echo TRYING
nsenter -t "$PPID" -m -n -i -u cat "$OUTSIDE_SECRET"
