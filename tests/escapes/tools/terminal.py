# A terminal for the command in the arguments: its standard input, and the one that controls it. Says afterwards
# what the command left in the terminal's input, as if somebody had typed it.
import fcntl, os, pty, select, subprocess, sys, termios, tty

master, slave = pty.openpty()
tty.setraw(slave)
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
# The terminal hangs up when the leader of its session ends, so that is this process and not the command.
os.setsid()
fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
code = subprocess.run(sys.argv[1:], stdin=slave, close_fds=False).returncode
if select.select([slave], [], [], 0.1)[0]:
    print("ESCAPED: typed into the terminal outside:", os.read(slave, 100), flush=True)
os._exit(code if code >= 0 else 128 - code)
