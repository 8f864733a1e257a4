package keystonetest

// A Persona is a user with one role in one scope. Personas have names such as "project-reader".
type Persona struct {
	Name     string // of the user, in the domain Default
	Password string
	Scope    string // "system", "domain" or "project"
	Project  string // name of the project of that scope
	Role     string
}

// The projects, in the domain Default.
const (
	Demo    = "demo"    // of all personas with the scope of a project but those below
	Other   = "other"   // of "other-reader"
	Service = "service" // of "service"
)

// Placement is the user of the placement service: it may check tokens.
const Placement = "placement"

// Personas returns all of them: each of the roles in each of the scopes, a user in another project,
// and the services' users.
func Personas() []Persona {
	var all []Persona
	for _, scope := range []string{"system", "domain", "project"} {
		for _, role := range []string{"admin", "service", "member", "reader", "observer"} {
			all = append(all, persona(scope+"-"+role, scope, Demo, role))
		}
	}
	return append(all,
		persona("other-reader", "project", Other, "reader"),
		persona("other-member", "project", Other, "member"),
		persona(Placement, "project", Service, "service"),
		persona("nova", "project", Service, "service"),
	)
}

func persona(name, scope, project, role string) Persona {
	p := Persona{Name: name, Password: "password-of-" + name, Scope: scope, Role: role}
	if scope == "project" {
		p.Project = project
	}
	return p
}

// Find returns the persona of a name. An unknown name is a mistake in the test.
func Find(name string) Persona {
	for _, p := range Personas() {
		if p.Name == name {
			return p
		}
	}
	panic("keystonetest: there is no persona " + name)
}

// populate creates the catalogue, the projects, the roles and the personas.
func (k *Keystone) populate() {
	k.t.Helper()
	k.ids["service/identity"] = k.create("service", object{"type": "identity", "name": "keystone"})
	for _, iface := range []string{"public", "internal", "admin"} {
		k.Endpoint(iface, "RegionOne", k.URL()+"/v3")
	}
	for _, name := range []string{Demo, Other, Service} {
		k.ids["project/"+name] = k.create("project", object{"name": name, "domain_id": "default"})
	}
	k.findRoles()
	for _, name := range []string{"service", "observer"} {
		if k.ids["role/"+name] == "" {
			k.ids["role/"+name] = k.create("role", object{"name": name})
		}
	}
	for _, p := range Personas() {
		k.add(p)
	}
}

// findRoles reads the roles that Keystone has initially: admin, member and reader, each of which
// includes the next.
func (k *Keystone) findRoles() {
	k.t.Helper()
	var list struct{ Roles []struct{ ID, Name string } }
	k.do("GET", "/v3/roles", nil, &list)
	for _, r := range list.Roles {
		k.ids["role/"+r.Name] = r.ID
	}
}

// add creates a user with a role.
func (k *Keystone) add(p Persona) {
	k.t.Helper()
	id := k.create("user", object{"name": p.Name, "domain_id": "default", "password": p.Password})
	k.ids["user/"+p.Name] = id
	k.do("PUT", k.grant(p), nil, nil)
}

// grant returns the path of the persona's role.
func (k *Keystone) grant(p Persona) string {
	on := map[string]string{
		"system":  "/v3/system",
		"domain":  "/v3/domains/default",
		"project": "/v3/projects/" + k.ids["project/"+p.Project],
	}[p.Scope]
	return on + "/users/" + k.ids["user/"+p.Name] + "/roles/" + k.ids["role/"+p.Role]
}

// UserID returns the id of a persona.
func (k *Keystone) UserID(name string) string { return k.ids["user/"+name] }

// ProjectID returns the id of a project by its name.
func (k *Keystone) ProjectID(name string) string { return k.ids["project/"+name] }

// Region adds a region.
func (k *Keystone) Region(name string) {
	k.t.Helper()
	k.create("region", object{"id": name})
}

// Endpoint adds an endpoint of Keystone to the catalogue, in an existing region; one is called
// RegionOne.
func (k *Keystone) Endpoint(iface, region, url string) {
	k.t.Helper()
	k.endpoint(k.ids["service/identity"], iface, region, url)
}

// Service adds a service to the catalogue, with the same address for all interfaces.
func (k *Keystone) Service(kind, name, url string) {
	k.t.Helper()
	id := k.create("service", object{"type": kind, "name": name})
	for _, iface := range []string{"public", "internal", "admin"} {
		k.endpoint(id, iface, "RegionOne", url)
	}
}

func (k *Keystone) endpoint(service, iface, region, url string) {
	k.t.Helper()
	k.create("endpoint", object{"interface": iface, "region_id": region, "service_id": service, "url": url})
}
