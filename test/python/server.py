"""Starts the server that the tests speak to: the built binary, on free ports, with a data directory of its own.

A test class begins with Server.start(). `python3 -m unittest test_boto3` in this directory runs a file of tests, each in a
process of its own. The binary is that of the environment's SECTIONAL_BINARY; without it, one is built.
"""

import base64
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER, PASSWORD = 'adm', 'pass'


def until(what, ask, limit=120):
    """Asks again and again until the answer is a true value, which it returns, and fails when that takes too long."""
    deadline = time.monotonic() + limit
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f'not within {limit} s: {what}')
        time.sleep(0.01)


RESERVED = []  # sockets that hold the ports of servers


def free_port():
    """A port below those that the kernel gives to whoever asks for any: such a one may be given away before the server listens.

    Others who start servers do not get it while this process lives: they hold the UDP port of the same number before, as
    internal/testkit/process says."""
    while True:
        port = 12000 + random.randrange(20000)
        holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with socket.socket() as probe:
            try:
                holder.bind(('127.0.0.1', port))
                RESERVED.append(holder)
                probe.bind(('127.0.0.1', port))
                return port
            except OSError:
                pass  # somebody has it


class Server:
    """A running server: `base` is CouchDB's API, `dynamodb` the DynamoDB API, `key_id` and `secret` the administrator's key."""

    @classmethod
    def start(cls):
        server = cls()
        server.directory = tempfile.mkdtemp(prefix='sectional-python-')
        binary = os.environ.get('SECTIONAL_BINARY')
        if not binary:
            binary = os.path.join(server.directory, 'sectional')
            subprocess.run(['go', 'build', '-o', binary, './cmd/sectional'], cwd=ROOT, check=True)
        server.base = f'http://127.0.0.1:{free_port()}'
        server.log = os.path.join(server.directory, 'log')
        kept = {name: value for name, value in os.environ.items() if not name.startswith(('COUCHDB_', 'SECTIONAL_'))}
        with open(server.log, 'wb') as log:
            server.process = subprocess.Popen(
                [binary, 'serve', '--data', os.path.join(server.directory, 'data'), '--listen', server.base[7:], '--dynamodb', '127.0.0.1:0'],
                stdout=log, stderr=log, env={**kept, 'COUCHDB_USER': USER, 'COUCHDB_PASSWORD': PASSWORD})
        try:
            server.dynamodb = until('the server listens', server.listening)
            until('the server answers', server.up)
            _, key = server.request('POST', f'/_access_keys/{USER}', {})
            server.key_id, server.secret = key['id'], key['secret']
        except BaseException:
            server.remove()
            raise
        return server

    def listening(self):
        output = pathlib.Path(self.log).read_text()
        if self.process.poll() is not None:
            raise AssertionError('the server ended:\n' + output)
        found = re.search(r'The DynamoDB API listens on (\S+)', output)
        return found and found[1]

    def up(self):
        try:
            with urllib.request.urlopen(self.base + '/_up') as answer:
                return answer.status == 200
        except urllib.error.URLError:
            return False

    def remove(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory)

    def request(self, method, path, body=None):
        """Sends a request to CouchDB's API as the administrator and returns status and parsed answer."""
        request = urllib.request.Request(self.base + path, method=method, data=None if body is None else json.dumps(body).encode(), headers={
            'Authorization': 'Basic ' + base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode(), 'Content-Type': 'application/json'})
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
