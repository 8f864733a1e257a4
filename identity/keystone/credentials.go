package keystone

import "encoding/json"

// object is a piece of JSON.
type object map[string]any

// body returns the request for a token.
func (c *Credentials) body() []byte {
	auth := object{"identity": c.identity()}
	if scope := c.scope(); scope != nil {
		auth["scope"] = scope
	}
	b, err := json.Marshal(object{"auth": auth})
	if err != nil {
		panic(err) // maps of strings always have a form
	}
	return b
}

// identity returns the part of the request that says who logs in, in the form of version 3 of the
// API: the name of one method, and under that name its values.
func (c *Credentials) identity() object {
	if c.Type == ApplicationCredential {
		return object{"methods": []string{"application_credential"}, "application_credential": c.credential()}
	}
	if c.fixed() {
		return object{"methods": []string{"token"}, "token": object{"id": string(c.Token)}}
	}
	user := c.user()
	user["password"] = string(c.Password)
	return object{"methods": []string{"password"}, "password": object{"user": user}}
}

// credential returns an application credential. Its name is unique only among those of its user, so
// that the user is sent with it; an id needs nothing else.
func (c *Credentials) credential() object {
	o := object{"secret": string(c.ApplicationCredentialSecret)}
	if c.ApplicationCredentialID != "" {
		o["id"] = c.ApplicationCredentialID
		return o
	}
	o["name"], o["user"] = c.ApplicationCredentialName, c.user()
	return o
}

// user returns a user by id or, within a domain, by name.
func (c *Credentials) user() object {
	if c.UserID != "" {
		return object{"id": c.UserID}
	}
	return within(object{"name": c.Username}, c.userDomain())
}

// scope returns the scope of the token, nil for credentials that imply one. check has refused
// several of domain, project and trust; without any of them the scope is the system.
func (c *Credentials) scope() object {
	switch {
	case c.Type == ApplicationCredential:
		return nil
	case c.DomainID+c.DomainName != "":
		return object{"domain": named(c.DomainID, c.DomainName)}
	case c.ProjectID != "":
		return object{"project": object{"id": c.ProjectID}}
	case c.ProjectName != "":
		return object{"project": within(object{"name": c.ProjectName}, c.projectDomain())}
	case c.TrustID != "":
		return object{"OS-TRUST:trust": object{"id": c.TrustID}}
	}
	return object{"system": object{"all": true}}
}

func (c *Credentials) userDomain() object {
	return either(named(c.UserDomainID, c.UserDomainName), c.defaultDomain())
}

func (c *Credentials) projectDomain() object {
	return either(named(c.ProjectDomainID, c.ProjectDomainName), c.defaultDomain())
}

// defaultDomain is one of the kinds of credentials that find the version out.
func (c *Credentials) defaultDomain() object {
	if !c.finds() {
		return nil
	}
	return named(c.DefaultDomainID, c.DefaultDomainName)
}

// named returns a reference by id or by name, nil without either.
func named(id, name string) object {
	switch {
	case id != "":
		return object{"id": id}
	case name != "":
		return object{"name": name}
	}
	return nil
}

// within adds the domain to a reference by name. It changes o.
func within(o, domain object) object {
	if domain != nil {
		o["domain"] = domain
	}
	return o
}

func either(a, b object) object {
	if a != nil {
		return a
	}
	return b
}
