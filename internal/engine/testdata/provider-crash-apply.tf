# apply
# provider
terraform {
  required_providers {
    failing = { source = "cairn.dev/test/failing" }
  }
}
resource "failing_thing" "x" { summary = "crash" }
