# apply
# before: resource "terraform_data" "a" { triggers_replace = 1 }
resource "terraform_data" "a" { triggers_replace = 2 }
resource "terraform_data" "b" {}
