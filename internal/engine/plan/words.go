package plan

import "strings"

// words are the names in the engine's format. A secret that is one of them, such as "value", is not hidden where
// the format has it: the plan would be unreadable then, and that the format has this name reveals nothing.
var words = func() map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(`
		action_invocations action_reason action_trigger_block_index action_trigger_event actions actions_list_index address
		after after_identity after_sensitive after_unknown alias applyable attribute before before_identity before_sensitive
		change checks child_modules complete config_sensitive config_unknown config_values configuration constant_value
		count_expression default deferred_changes depends_on deposed deprecated description ephemeral errored expression
		expressions for_each_expression format_version full_name generated_config id identity identity_schema_version
		importing index instances instance_key invoke_action_trigger kind lifecycle_action_trigger message mode module
		module_address module_calls name output_changes outputs planned_values previous_address prior_state problems
		provider_config provider_config_key provider_name provisioners reason references refresh_only relevant_attributes
		replace_paths required resource resource_change resource_changes resource_drift resources root_module
		schema_version sensitive sensitive_values source status tainted terraform_version timestamp to_display
		triggering_resource_address type unknown value values variables version_constraint`) {
		all[word] = true
	}
	return all
}()
