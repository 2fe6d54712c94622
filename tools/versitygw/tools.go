//go:build tools

// Package versitygw pins the server of S3 that the tests of the bucket and the end-to-end tests run.
package versitygw

import _ "github.com/versity/versitygw/cmd/versitygw"
