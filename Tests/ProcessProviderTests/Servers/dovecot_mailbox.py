"""A Dovecot on loopback with some messages, until standard input ends. Prints its port when it can be asked.

Usage: dovecot_mailbox.py FOLDER (new and empty; everything of the server is in it)
"""
import email.message
import imaplib
import os
import signal
import socket
import subprocess
import sys
import time

folder = sys.argv[1]
# The threads of Swift's Dispatch block signals, and programs inherit that: Dovecot could not be ended.
signal.pthread_sigmask(signal.SIG_SETMASK, [])
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
# Dovecot gives no mail to root.
user, group, uid, gid = ("nobody", "nogroup", 65534, 65534) if os.getuid() == 0 else (
    subprocess.check_output(["id", "-un"], text=True).strip(), subprocess.check_output(["id", "-gn"], text=True).strip(),
    os.getuid(), os.getgid())
os.chmod(folder, 0o755)
os.makedirs(folder + "/mail")
if os.getuid() == 0:
    os.chown(folder + "/mail", uid, gid)
with open(folder + "/dovecot.conf", "w") as file:
    file.write(f"""
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
mail_location = maildir:{folder}/mail/%n
first_valid_uid = 1
first_valid_gid = 1
namespace inbox {{
  inbox = yes
  separator = /
}}
passdb {{
  driver = static
  args = password=secret
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail/%n
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
""")
with open(folder + "/netrc", "w") as file:
    os.fchmod(file.fileno(), 0o600)
    file.write("machine 127.0.0.1 login ada password secret\n")


def message(date, *attachments):
    made = email.message.EmailMessage()
    made["From"], made["Date"], made["Subject"] = "bob@example.org", date, "with attachments"
    made.set_content("See there.")
    for name, data in attachments:
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()


server = subprocess.Popen(
    ["dovecot", "-F", "-c", folder + "/dovecot.conf"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL)
try:
    deadline = time.monotonic() + 60
    while True:
        try:
            client = imaplib.IMAP4("127.0.0.1", port)
            client.login("ada", "secret")
            break
        except (OSError, imaplib.IMAP4.error):
            if time.monotonic() > deadline or server.poll() is not None:
                raise
            time.sleep(0.05)
    client.create("Work/B&APw-cher")
    client.append("INBOX", None, None, message(
        "Tue, 03 Mar 2020 10:11:12 +0100", ("report.pdf", bytes(range(256)) * 1200), ("grün.txt", "grün\n".encode())))
    client.append("INBOX", None, None, message("Wed, 04 Mar 2020 10:11:12 +0100", ("report.pdf", b"second")))
    # A mailbox that strangers have sent to: a name that is no encoded word, a character set with a NUL, and base64 that is
    # cut off.
    client.create("Strange")
    client.append("Strange", None, None, b"\r\n".join([
        b"From: bob@example.org", b"Date: Fri, 06 Mar 2020 10:11:12 -0000", b"MIME-Version: 1.0",
        b'Content-Type: multipart/mixed; boundary="b"', b"", b"--b", b"Content-Type: application/octet-stream",
        b'Content-Disposition: attachment; filename="=?utf-8?b?A?="', b"", b"one", b"--b",
        b"Content-Type: application/octet-stream",
        b"Content-Disposition: attachment; filename*=a%00b''two", b"", b"two", b"--b",
        b'Content-Type: application/octet-stream; name="cut"', b"Content-Disposition: attachment",
        b"Content-Transfer-Encoding: base64", b"", b"QUJDR", b"--b--", b""]))
    client.append("Strange", None, None, message("Sat, 07 Mar 2020 10:11:12 +0000", ("good.txt", b"good")))
    client.append("Work/B&APw-cher", None, None, message("Thu, 05 Mar 2020 10:11:12 +0000", ("a/b.txt", b"x" * 10)))
    client.logout()
    print(port, flush=True)
    sys.stdin.read()
finally:
    server.terminate()
    try:
        server.wait(timeout=20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
