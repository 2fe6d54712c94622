# plan: -replace=module.m
resource "terraform_data" "a" {}
