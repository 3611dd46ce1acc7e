package control

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed page/index.html page/page.css page/*.js page/icon.svg
var pageFiles embed.FS

// isPage says whether a path belongs to the page's own files.
func isPage(p string) bool { return p == "/" || strings.HasPrefix(p, "/page/") }

// page serves the embedded files: / and /page/….
func page() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		if r.URL.Path == "/" {
			name = "index.html"
		}
		text, err := pageFiles.ReadFile("page/" + name)
		if err != nil || strings.Count(r.URL.Path, "/") > 2 {
			writeError(w, Errorf(NotFound, "there is nothing at %.120q", r.URL.Path))
			return
		}
		w.Header().Set("Cache-Control", "no-cache") // a new version of the program is a new page
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
	})
}
