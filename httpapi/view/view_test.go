package view_test

import (
	"testing"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

// Members are written in their order, each as its type is in JSON.
func TestObjectsAreWritten(t *testing.T) {
	type id string
	at := time.Date(2026, 11, 26, 9, 8, 7, 0, time.FixedZone("", 3600))
	none := map[string]string(nil)
	for want, o := range map[string]view.Object{
		`{}`:                         nil,
		`{"a": "x", "b": 2}`:         {view.Text("a", id("x")), view.Int("b", 2)},
		`{"a": null, "b": "x"}`:      {view.TextOrNull("a", ""), view.TextOrNull("b", "x")},
		`{"a": 1.0, "b": true}`:      {view.Float("a", 1), view.Bool("b", true)},
		`{"a": [], "b": ["x"]}`:      {view.Texts[string]("a", nil), view.Texts("b", []id{"x"})},
		`{"a": {}}`:                  {view.TextMap("a", none)},
		`{"a": {"k": "v", "l": ""}}`: {view.TextMap("a", map[string]string{"l": "", "k": "v"})},
		`{"a": null, "b": "08:08"}`:  {view.Time("a", time.Time{}, "15:04"), view.Time("b", at, "15:04")},
		`{"a": {"b": null}}`:         {view.Nested("a", view.Object{view.Null("b")})},
		`{"a": [1, "x"]}`:            {view.JSON("a", pyjson.NewArray(pyjson.Of(1), pyjson.Of("x")))},
		`{"a": [{"n": 1}, {"n": 2}]}`: {view.List("a", []int{1, 2}, func(n int) view.Object {
			return view.Object{view.Int("n", n)}
		})},
		`{"a": 1, "c": 3}`: view.Object{view.Int("a", 1)}.If(false, view.Int("b", 2)).If(true, view.Int("c", 3)),
		`{"a": 7}`:         {view.Value("a", func(j *httpapi.JSON) { j.Int(7) })},
	} {
		if got := string(httpapi.JSONText(o.Write)); got != want {
			t.Errorf("the object is %s, want %s", got, want)
		}
	}
}
