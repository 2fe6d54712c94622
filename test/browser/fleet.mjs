// Test data for all views: Stacks that wait for an approval, failed, drifted, or depend on others.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveGit } from './git.mjs'
import { stack } from './cairn.mjs'

const namespace = 'prod'

const network = `
  resource "terraform_data" "vpc" { input = "10.0.0.0/16" }
  resource "terraform_data" "subnet" {
    for_each = toset(["a", "b", "c"])
    input    = { zone = each.key, vpc = terraform_data.vpc.output }
  }
  output "subnet" { value = "10.0.0.0/24" }
`
const cluster = `
  variable "subnet" { type = string }
  resource "terraform_data" "nodes" {
    count = 3
    input = "node-\${count.index} in \${var.subnet}"
  }
  output "endpoint" { value = "https://cluster.example.com" }
`
const database = ({ size, users, version }) => `
  resource "terraform_data" "disk" { input = { gigabytes = ${size}, type = "ssd" } }
  resource "terraform_data" "server" {
    input            = { version = "${version}", disk = terraform_data.disk.id }
    triggers_replace = "${version}"
  }
  resource "terraform_data" "user" {
    for_each = toset(${JSON.stringify(users)})
    input    = { name = each.key, database = "shop" }
  }
  output "size" { value = terraform_data.disk.output.gigabytes }
`
const alerts = `
  resource "terraform_data" "rule" {
    provisioner "local-exec" { command = "echo 'rule 7: no such metric: http_requests_totl' >&2; exit 1" }
  }
`

const inProd = (name, code, spec = {}) => {
  const object = stack(name, code, { apply: 'Automatic', retry: { limit: 0 }, ...spec })
  return { ...object, metadata: { name, namespace } }
}
const fromGit = (name, path, spec) => ({
  ...inProd(name, '', spec),
  spec: { apply: 'Automatic', ...spec, source: { git: { repository: { name: 'infra' }, path } } },
})

/** A StackSet that creates no Stacks: the tests count those that there are. */
const environments = {
  apiVersion: 'cairn.dev/v1alpha1',
  kind: 'StackSet',
  metadata: { name: 'environments', namespace },
  spec: {
    mode: 'Preview',
    repository: { name: 'infra' },
    generators: [{ directories: { include: ['envs/{env}/{name}'] } }],
    template: {
      metadata: { name: '${params.env}-${params.name}', labels: { 'directory.cairn.dev/env': '${params.env}' } },
      spec: {
        source: { git: { repository: { name: 'infra' }, path: '${directory}' } },
        apply: "${params.env == 'prod' ? 'Manual' : 'Automatic'}",
        variables: [{ name: 'name', value: '${params.name}' }],
      },
    },
    rollout: { order: [{ matchLabels: { 'directory.cairn.dev/env': 'dev' } }, { matchLabels: { 'directory.cairn.dev/env': 'prod' } }] },
  },
}

/**
 * Creates a pull request as Cairn describes it. Its Repository has no credentials for a Git provider, so that Cairn leaves it as it is; what
 * Cairn does with real ones is tested by test/gitea.
 */
async function createPullRequest({ apply, kubectl }, url) {
  const commit = '4be1f6c84be1f6c84be1f6c84be1f6c84be1f6c8'
  const pull = { apiVersion: 'cairn.dev/v1alpha1', kind: 'PullRequest', metadata: { name: 'platform-12', namespace } }
  const plan = (add, change, destroy) => ({ digest: '', changes: true, add, change, destroy, replace: 0, import: 0, forget: 0 })
  await apply(
    {
      apiVersion: 'cairn.dev/v1alpha1',
      kind: 'Repository',
      metadata: { name: 'platform', namespace },
      spec: { url, pullRequests: { provider: 'Gitea', url: 'https://git.example.com', credentials: { secret: { name: 'none' } } } },
    },
    {
      ...pull,
      spec: {
        repository: { name: 'platform' },
        number: 12,
        url: 'https://git.example.com/acme/platform/pulls/12',
        title: 'Version 17 of the database, with a larger disk',
        author: 'gitea:git.example.com:alice',
        state: 'Open',
        base: 'main',
        head: { branch: 'database-17', commit },
        updatedAt: '2026-11-20T12:00:00Z',
      },
    },
  )
  const status = {
    observedGeneration: 1,
    phase: 'Planned',
    head: commit,
    conditions: [
      {
        type: 'Ready',
        status: 'False',
        reason: 'PlansFailed',
        message: '1 of 4 plans failed',
        lastTransitionTime: '2026-11-20T12:01:00Z',
      },
    ],
    stacks: [
      { namespace, name: 'alerts', run: 'alerts-1', phase: 'Failed', message: 'rule 7: no such metric: http_requests_totl' },
      { namespace, name: 'database', run: 'database-2', phase: 'Succeeded', plan: plan(3, 2, 1) },
      { namespace, name: 'dns', run: 'dns-1', phase: 'Succeeded', deletedDirectory: 'envs/prod/dns', plan: plan(0, 0, 2) },
      { namespace, name: 'network', phase: 'Queued', message: 'waits for the concurrency limit' },
    ],
    skipped: ['staging/database'],
    commands: { answer: '/cairn command of gitea:git.example.com:bob\nPlans were requested of: prod/database.' },
  }
  await kubectl('patch', 'pullrequest/platform-12', `--namespace=${namespace}`, '--subresource=status', '--type=merge', `--patch=${JSON.stringify({ status })}`)
}

/** Creates the fleet, and returns the commit of its Repository and a function that removes what is outside of Cairn. */
export async function createFleet(cairn) {
  const { apply, kubectl, until: wait } = cairn
  const dir = await mkdtemp(join(tmpdir(), 'cairn-fleet-'))
  const zone = join(dir, 'zone')
  await writeFile(zone, 'shop A 203.0.113.7\n')
  const git = await serveGit({ 'envs/prod/network/main.tf': network, 'envs/prod/cluster/main.tf': cluster }, 'The network, and the cluster in it')
  const stop = () => Promise.all([git.stop(), rm(dir, { recursive: true, force: true })])
  const until = (object, condition) => wait(object, condition, namespace)
  try {
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      { apiVersion: 'cairn.dev/v1alpha1', kind: 'Repository', metadata: { name: 'infra', namespace }, spec: { url: git.url, ref: 'main' } },
      fromGit('network', 'envs/prod/network', { outputs: { configMap: { name: 'network-outputs' } } }),
      fromGit('cluster', 'envs/prod/cluster', {
        apply: 'Manual',
        variables: [{ name: 'subnet', valueFrom: { stack: { name: 'network', output: 'subnet' } } }],
      }),
      inProd('dns', `resource "terraform_data" "zone" { input = file("${zone}") }`, { drift: { interval: '10s' } }),
      inProd('database', database({ size: 20, users: ['shop', 'reports', 'old'], version: '16' }), { dependsOn: [{ name: 'network' }] }),
      inProd('alerts', alerts),
      inProd('monitoring', 'resource "terraform_data" "prometheus" { input = "2 replicas" }', { dependsOn: [{ name: 'cluster' }] }),
      inProd('ingress', 'resource "terraform_data" "balancer" { count = 2 }', { dependsOn: [{ name: 'network' }, { name: 'dns' }] }),
    )
    await Promise.all(['database', 'dns', 'ingress'].map((name) => until(`stack/${name}`, 'condition=Ready')))
    await writeFile(zone, 'shop A 198.51.100.9\n')
    // A plan with each action, which waits for an approval.
    await apply(inProd('database', database({ size: 50, users: ['shop', 'reports', 'search'], version: '17' }), { apply: 'Manual', dependsOn: [{ name: 'network' }] }))
    await until('stack/dns', 'condition=Drifted')
    // No further check during the tests, so that the drift remains.
    await kubectl('patch', 'stack', 'dns', `--namespace=${namespace}`, '--type=merge', '--patch={"spec":{"drift":{"interval":"24h"}}}')
    await until('run/database-2', 'jsonpath={.status.phase}=AwaitingApproval')
    await until('run/cluster-1', 'jsonpath={.status.phase}=AwaitingApproval')
    await until('run/alerts-1', 'jsonpath={.status.phase}=Failed')
    await createPullRequest(cairn, git.url)
    await apply({ // without its Secret, so its message waits
      apiVersion: 'cairn.dev/v1alpha1', kind: 'Notification', metadata: { name: 'on-call', namespace },
      spec: { destination: { type: 'Slack', secret: { name: 'on-call' } }, groupWait: '0s' },
    })
    await apply({ apiVersion: 'cairn.dev/v1alpha1', kind: 'DriftPause', metadata: { name: 'mass-drift', namespace } })
    await until('driftpause/mass-drift', 'jsonpath={.status.conditions[0].reason}=MassDrift')
    await apply({ // whose stages select no Stack, so it has no release
      apiVersion: 'cairn.dev/v1alpha1', kind: 'Pipeline', metadata: { name: 'shop', namespace },
      spec: {
        repository: { name: 'infra' },
        stages: ['dev', 'staging', 'production'].map((name) => ({ name, stacks: { matchLabels: { pipeline: 'shop', stage: name } } })),
      },
    })
    await until('pipeline/shop', 'jsonpath={.status.conditions[0].reason}=AwaitingRelease')
    await apply(environments)
    await until('stackset/environments', 'condition=Ready')
    const revision = await kubectl('get', 'stack/network', `--namespace=${namespace}`, '--output=jsonpath={.status.revision}')
    return { stop, commit: revision.split(':').at(-1) }
  } catch (error) {
    await stop()
    throw error
  }
}
