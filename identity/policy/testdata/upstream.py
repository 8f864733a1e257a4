"""Decides cases with the real oslo.policy: JSON in, one JSON list out."""
import json
import logging
import os
import sys
import tempfile
import warnings

warnings.simplefilter('ignore')
logging.disable(logging.CRITICAL)

from oslo_config import cfg  # noqa: E402
from oslo_context import context  # noqa: E402
from oslo_policy import _checks  # noqa: E402
from oslo_policy import opts  # noqa: E402
from oslo_policy import policy  # noqa: E402


def registered(rule):
    old = rule.get('old')
    if old:
        old = policy.DeprecatedRule(
            old['name'], old['check'], deprecated_reason='r', deprecated_since='s')
    return policy.RuleDefault(
        rule['name'], rule['check'], scope_types=rule.get('scopes') or None,
        deprecated_rule=old or None)


def too_old(case):
    """Whether this release is too old to be compared with.

    In oslo.policy 6.0.1 an override that repeats what a deprecated name always
    said is none, and a rule that is a lone operator or quoted string refuses. In
    4.0.0 such an override counts, and such a rule is an error.
    """
    if '__eq__' in vars(_checks.BaseCheck):
        return False
    file = {k: policy.RuleDefault(k, v).check for k, v in json.loads(case['file']).items()}
    defaults = [registered(r) for r in case['defaults']]
    old = [r.deprecated_rule for r in defaults if r.deprecated_rule]
    every = list(file.values()) + [r.check for r in defaults + old]
    return (any(not isinstance(c, _checks.BaseCheck) for c in every) or
            any(str(file.get(r.name)) == str(r.check) for r in old))


def decide(case, directory):
    if too_old(case):
        return 'too old'
    path = os.path.join(directory, 'policy.yaml')
    with open(path, 'w') as f:
        f.write(case['file'])
    conf = cfg.ConfigOpts()
    conf([], project='parity', default_config_files=[], default_config_dirs=[])
    opts._register(conf)
    if 'enforce_scope' in conf.oslo_policy:
        conf.set_override('enforce_scope', True, 'oslo_policy')
    conf.set_override('enforce_new_defaults', case['new'], 'oslo_policy')
    conf.set_override('policy_dirs', [], 'oslo_policy')
    enforcer = policy.Enforcer(conf, policy_file=path)
    try:
        enforcer.register_defaults([registered(r) for r in case['defaults']])
        who = context.RequestContext(overwrite=False, **case['caller'])
        target = case['target']
        if target is None:
            target = {'project_id': who.project_id, 'user_id': who.user_id}
        return 'allow' if enforcer.authorize(case['rule'], target, who) else 'deny'
    except (Exception, RecursionError) as e:
        return 'error: %s' % type(e).__name__


with tempfile.TemporaryDirectory() as directory:
    json.dump([decide(c, directory) for c in json.load(sys.stdin)], sys.stdout)
