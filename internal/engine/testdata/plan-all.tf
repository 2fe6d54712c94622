# before: resource "terraform_data" "update" { input = 1 }
# before: resource "terraform_data" "replace" { triggers_replace = 1 }
# before: resource "terraform_data" "replace_first" {
# before:   triggers_replace = 1
# before:   lifecycle { create_before_destroy = true }
# before: }
# before: resource "terraform_data" "replace_kept" {
# before:   triggers_replace = 1
# before:   lifecycle { destroy = false }
# before: }
# before: resource "terraform_data" "forget" { input = 1 }
# before: resource "terraform_data" "delete" { input = 1 }
# before: resource "terraform_data" "old_name" { input = 1 }
# before: resource "terraform_data" "old_name_changed" { input = 1 }
# before: resource "terraform_data" "same" { input = 1 }
resource "terraform_data" "update" { input = 2 }
resource "terraform_data" "replace" { triggers_replace = 2 }
resource "terraform_data" "replace_first" {
  triggers_replace = 2
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "replace_kept" {
  triggers_replace = 2
  lifecycle { destroy = false }
}
removed {
  from = terraform_data.forget
  lifecycle { destroy = false }
}
resource "terraform_data" "new_name" { input = 1 }
moved {
  from = terraform_data.old_name
  to   = terraform_data.new_name
}
resource "terraform_data" "new_name_changed" { input = 2 }
moved {
  from = terraform_data.old_name_changed
  to   = terraform_data.new_name_changed
}
resource "terraform_data" "same" { input = 1 }
resource "terraform_data" "import" {}
import {
  to = terraform_data.import
  id = "one"
}
resource "terraform_data" "import_changed" { input = 1 }
import {
  to = terraform_data.import_changed
  id = "two"
}
data "terraform_remote_state" "read_later" {
  backend    = "local"
  config     = { path = "x" }
  depends_on = [terraform_data.update]
}
