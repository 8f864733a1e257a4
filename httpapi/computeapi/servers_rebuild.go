package computeapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

// newRebuildSchema is for the body of a rebuild at a version.
func newRebuildSchema(minor int) *pyschema.Schema {
	parts := []string{
		`"name": ` + namePart, `"imageRef": ` + uuidPart, `"adminPass": ` + stringPart, `"metadata": ` + textsPart,
		`"preserve_ephemeral": ` + booleanPart, `"OS-DCF:diskConfig": {"type": "string", "enum": ["AUTO", "MANUAL"]}`,
		`"accessIPv4": {"type": "string", "format": "ipv4"}`, `"accessIPv6": {"type": "string", "format": "ipv6"}`,
	}
	if minor < 57 {
		parts = append(parts, filesPart)
	}
	if minor >= 19 {
		parts = append(parts, `"description": `+shortTextPart)
	}
	if minor >= 54 {
		parts = append(parts, `"key_name": {"oneOf": [{"type": "string", "minLength": 1, "maxLength": 255}, {"type": "null"}]}`)
	}
	if minor >= 57 {
		parts = append(parts, `"user_data": {"oneOf": [{"type": "string", "format": "base64", "maxLength": 65535}, {"type": "null"}]}`)
	}
	if minor >= 63 {
		parts = append(parts, certificatesPart)
	}
	if minor >= 90 {
		parts = append(parts, `"hostname": `+hostnamePart)
	}
	return bodySchema("rebuild", objectPart(strings.Join(parts, ", "), `"imageRef"`))
}

// rebuildVersions are the minor versions that changed the body of a rebuild, newest first.
var rebuildVersions = []int{90, 63, 57, 54, 19, 1}

var rebuildSchemas = func() map[int]*pyschema.Schema {
	all := map[int]*pyschema.Schema{}
	for _, minor := range rebuildVersions {
		all[minor] = newRebuildSchema(minor)
	}
	return all
}()

// rebuildServer builds a server anew, from an image.
func (q *request) rebuildServer() error {
	since := slices.IndexFunc(rebuildVersions, func(since int) bool { return q.minor >= since })
	v, err := q.checked(rebuildSchemas[rebuildVersions[max(since, 0)]], "rebuild")
	if err != nil {
		return err
	}
	s, err := q.serverInPath("servers:rebuild")
	if err != nil {
		return err
	}
	certificates, named := v.Get("trusted_image_certificates")
	if named {
		if err := q.can("servers:rebuild:trusted_certs", ofProject(s.Project)); err != nil {
			return err
		}
	}
	files, _ := v.Get("personality")
	switch {
	case files.Len() > 0:
		return badRequest("No files are put into servers here.")
	case certificates.Len() > 0:
		return badRequest("Signatures of images are not checked here.")
	}
	s, err = q.api.Compute.RebuildServer(q.Context(), q.by(), s.ID, rebuilding(v))
	if err != nil {
		return err
	}
	password, ok := v.Get("adminPass")
	if !ok {
		password = pyjson.NewString(newPassword())
	}
	q.w.Header().Set("Location", q.url("servers/"+string(s.ID)))
	return q.respond(http.StatusAccepted, single("server", append(
		q.serverView(s, shownParts{whole: q.minor >= 75, groups: q.minor >= 71}).
			If(q.minor >= 54 && q.minor < 75, view.TextOrNull("key_name", s.KeyName)).
			If(q.minor >= 57, view.TextOrNull("user_data", s.UserData)),
		view.JSON("adminPass", password))))
}

// rebuilding reads what a server is to become. A null takes away what the server has.
func rebuilding(v pyjson.Value) compute.Rebuilding {
	to := compute.Rebuilding{
		Image: compute.ID(*textOf(v, "imageRef")), ServerChange: serverChange(v), KeyName: textOf(v, "key_name"), UserData: textOf(v, "user_data"),
	}
	if metadata, ok := v.Get("metadata"); ok {
		to.Metadata = textsIn(metadata)
	}
	return to
}
