"""Serves a directory of packages on loopback: files below /files/, a Python index below /simple/, an npm registry at /npm/.

Usage: index.py DIRECTORY PORT-FILE     (writes its port to PORT-FILE once it listens)
"""

import base64
import hashlib
import json
import re
import sys
import tarfile
import urllib.parse
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PLACE = Path(sys.argv[1]).resolve()


def npm_packages():
    """The manifests of all npm tarballs, by package name."""
    found = {}
    for path in PLACE.glob("*.tgz"):
        with tarfile.open(path) as archive:
            found[json.load(archive.extractfile("package/package.json"))["name"]] = path
    return found


def packument(name, path, base):
    """What a registry says about a package that has one version."""
    with tarfile.open(path) as archive:
        manifest = json.load(archive.extractfile("package/package.json"))
    data = path.read_bytes()
    manifest["dist"] = {
        "tarball": f"{base}/files/{path.name}",
        "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode(),
        "shasum": hashlib.sha1(data).hexdigest(),
    }
    version = manifest["version"]
    return {"name": name, "dist-tags": {"latest": version}, "versions": {version: manifest}}


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.unquote(self.path.partition("?")[0])
        if path.startswith("/npm/"):
            return self.npm(path.removeprefix("/npm/"))
        if path.startswith("/simple/"):
            return self.simple(path.removeprefix("/simple/").strip("/"))
        self.path = self.path.removeprefix("/files")
        return super().do_GET()

    def npm(self, name):
        path = npm_packages().get(name)
        if path is None:
            return self.send_error(404)
        base = "http://{}:{}".format(*self.server.server_address)
        return self.answer("application/json", json.dumps(packument(name, path, base)))

    def simple(self, project):
        wheels = [path for path in PLACE.glob("*.whl") if path.name.split("-")[0] == re.sub("-", "_", project)]
        if not wheels:
            return self.send_error(404)
        links = "".join(
            f'<a href="/files/{path.name}#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}">{path.name}</a>' for path in wheels
        )
        return self.answer("text/html", f"<!DOCTYPE html><html><body>{links}</body></html>")

    def answer(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *rest: Handler(*rest, directory=str(PLACE)))
partial = Path(sys.argv[2] + ".new")
partial.write_text(str(server.server_address[1]))
partial.rename(sys.argv[2])
server.serve_forever()
