package serversapi

import (
	"net/http"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

// newRebuildSchema is for the body of a rebuild at a version.
func newRebuildSchema(minor int) *pyschema.Schema {
	parts := []string{
		`"name": ` + wire.NamePart, `"imageRef": ` + wire.UUIDPart, `"adminPass": ` + wire.StringPart,
		`"metadata": ` + textsPart,
		`"preserve_ephemeral": ` + wire.BooleanPart, `"OS-DCF:diskConfig": {"type": "string", "enum": ["AUTO", "MANUAL"]}`,
		`"accessIPv4": {"type": "string", "format": "ipv4"}`, `"accessIPv6": {"type": "string", "format": "ipv6"}`,
	}
	if minor < 57 {
		parts = append(parts, filesPart)
	}
	if minor >= 19 {
		parts = append(parts, `"description": `+shortTextPart)
	}
	if minor >= 54 {
		parts = append(parts,
			`"key_name": {"oneOf": [{"type": "string", "minLength": 1, "maxLength": 255}, {"type": "null"}]}`)
	}
	if minor >= 57 {
		parts = append(parts,
			`"user_data": {"oneOf": [{"type": "string", "format": "base64", "maxLength": 65535}, {"type": "null"}]}`)
	}
	if minor >= 63 {
		parts = append(parts, certificatesPart)
	}
	if minor >= 90 {
		parts = append(parts, `"hostname": `+hostnamePart(minor))
	}
	return wire.BodySchema("rebuild", wire.ObjectPart(strings.Join(parts, ", "), `"imageRef"`))
}

// rebuildSchema is for the body of a rebuild, which these versions changed.
var rebuildSchema = wire.ByVersion(newRebuildSchema, 94, 90, 63, 57, 54, 19, 1)

// rebuildServer builds a server again, from an image.
func rebuildServer(q *wire.Request) error {
	v, err := q.CheckMember(rebuildSchema(q.Minor), "rebuild")
	if err != nil {
		return err
	}
	s, err := q.ServerInPath("servers:rebuild")
	if err != nil {
		return err
	}
	certificates, named := v.Get("trusted_image_certificates")
	if named {
		if err := q.Can("servers:rebuild:trusted_certs", wire.OfProject(s.Project)); err != nil {
			return err
		}
	}
	files, _ := v.Get("personality")
	switch {
	case files.Len() > 0:
		return wire.BadRequest("No files are put into servers here.")
	case certificates.Len() > 0:
		return wire.BadRequest("Signatures of images are not checked here.")
	}
	s, err = q.API.Servers.RebuildServer(q.Context(), q.Author(), s.ID, rebuilding(v))
	if err != nil {
		return err
	}
	password, ok := v.Get("adminPass")
	if !ok {
		password = pyjson.NewString(newPassword())
	}
	q.Writer.Header().Set("Location", q.PathURL("servers/"+string(s.ID)))
	return q.Respond(http.StatusAccepted, wire.Single("server", append(
		serverView(q, s, shownParts{whole: q.Minor >= 75, groups: q.Minor >= 71}).
			If(q.Minor >= 54 && q.Minor < 75, view.TextOrNull("key_name", s.KeyName)).
			If(q.Minor >= 57, view.TextOrNull("user_data", s.UserData)),
		view.JSON("adminPass", password))))
}

// rebuilding reads what a server is to become. A null takes away what the server has.
func rebuilding(v pyjson.Value) servers.Rebuilding {
	to := servers.Rebuilding{
		Image: compute.ID(*wire.TextOf(v, "imageRef")), ServerChange: serverChange(v), KeyName: wire.TextOf(v, "key_name"),
		UserData: wire.TextOf(v, "user_data"),
	}
	if metadata, ok := v.Get("metadata"); ok {
		to.Metadata = textsIn(metadata)
	}
	return to
}
