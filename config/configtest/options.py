"""What the scripts that list options have in common; it is put before them.

stdout: a list of {"group", "name", "default", "older": ["group.name"]}, with
defaults written as in a file.
"""

def written(value):
    if value is None:
        return ''
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ','.join(map(str, value))
    if isinstance(value, dict):
        return ','.join('%s:%s' % pair for pair in value.items())
    return str(value)


def entry(group, opt):
    older = ['%s.%s' % (d.group or group, d.name or opt.dest)
             for d in opt.deprecated_opts]
    return {'group': group, 'name': opt.dest, 'older': older,
            'default': written(opt.default)}
