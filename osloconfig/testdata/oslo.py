"""Reads the cases of TestParity with the real oslo.config.

stdin: {"cases": [{"files": [path], "dirs": [path], "env": {name: value}}]}
stdout: a list with one entry a case: null when a source cannot be read, else
an object from "group.option" to its value, or to "ERROR" when it is wrong.
"""
import json
import os
import sys

from oslo_config import cfg
from oslo_config import types


def options():
    return [
        cfg.StrOpt('text'),
        cfg.StrOpt('other'),
        cfg.BoolOpt('flag', default=False),
        cfg.IntOpt('count'),
        cfg.IntOpt('size', min=-3, max=10, default=0),
        cfg.FloatOpt('ratio', default=0.0),
        cfg.ListOpt('words'),
        cfg.MultiStrOpt('many', deprecated_name='lots'),
        cfg.StrOpt('pick', choices=('red', 'green')),
        cfg.StrOpt('fresh', deprecated_opts=[
            cfg.DeprecatedOpt('stale'),
            cfg.DeprecatedOpt('ancient', group='elder')]),
    ]


def plain(value, opt):
    if isinstance(opt.type, types.Float) and value is not None:
        return repr(value)
    return value


def read(case):
    conf = cfg.ConfigOpts()
    for group in (None, 'g'):
        conf.register_opts(options(), group=group)
    argv = []
    for path in case.get('files') or []:
        argv += ['--config-file', path]
    for path in case.get('dirs') or []:
        argv += ['--config-dir', path]
    try:
        conf(argv, default_config_files=[], default_config_dirs=[])
    except cfg.Error:
        return None
    result = {}
    for group in ('DEFAULT', 'g'):
        home = conf if group == 'DEFAULT' else conf[group]
        for opt in options():
            try:
                value = plain(home[opt.dest], opt)
            except Exception:
                value = 'ERROR'
            result['%s.%s' % (group, opt.dest)] = value
    return result


def main():
    answers = []
    for case in json.load(sys.stdin)['cases']:
        env = case.get('env') or {}
        os.environ.update(env)
        answers.append(read(case))
        for name in env:
            del os.environ[name]
    json.dump(answers, sys.stdout)


main()
