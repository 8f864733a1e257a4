# Runs the openstack client once for each line of standard input, in a process of its own, and answers each with a line.
# The modules are imported once. The line is JSON: dir (the working directory), site (what stands for /etc/openstack), env, argv.
import importlib
import json
import os
import sys

import openstackclient.shell as shell
from openstack.config import loader


def run(case):
    os.setsid()  # there is no terminal to read a password from
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(case['env'])
    os.chdir(case['dir'])
    importlib.reload(loader)  # it computes the paths of files
    for paths in loader.CONFIG_FILES, loader.SECURE_FILES, loader.VENDOR_FILES:
        paths[:] = [p.replace('/etc/openstack/', case['site'] + '/') for p in paths]
    return shell.main(case['argv'])


for line in sys.stdin:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(write, 1)
        os.dup2(write, 2)
        code = 1
        try:
            code = run(json.loads(line))
        finally:
            sys.stdout.flush()
            os._exit(code or 0)
    os.close(write)
    with os.fdopen(read, errors='replace') as output:
        text = output.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({'code': code, 'output': text[-4000:]}), flush=True)
