import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { moment } from '../ui/time'
import type { Step } from './activity'
import { stepLabel, ticks } from './activity'

const series = [
  { key: 'succeeded', name: 'Succeeded', fill: 'var(--color-good)' },
  { key: 'failed', name: 'Failed', fill: 'var(--color-bad)' },
  { key: 'others', name: 'Others', fill: 'var(--color-strong)' },
] as const

const axis = { stroke: 'var(--color-strong)', tick: { fill: 'var(--color-muted)', fontSize: 12 }, tickLine: false }

/** The steps as bars. Arrow keys go from one to the next; who listens hears the numbers. */
export default function Bars({ steps, days }: { steps: Step[]; days: boolean }) {
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart
        data={steps}
        accessibilityLayer
        title="Completed runs, over time"
        margin={{ top: 4, right: 4, bottom: 0, left: 0 }}
      >
        <CartesianGrid vertical={false} stroke="var(--color-line)" />
        <XAxis
          dataKey="from"
          ticks={ticks(steps, days)}
          tickFormatter={(from: string) => stepLabel(from, days)}
          minTickGap={32}
          {...axis}
        />
        <YAxis allowDecimals={false} width={32} {...axis} axisLine={false} />
        <Tooltip
          cursor={{ fill: 'var(--color-hover)' }}
          labelFormatter={(from) => moment(new Date(from as string))}
          contentStyle={{ background: 'var(--color-panel)', border: '1px solid var(--color-line)', borderRadius: 6 }}
          itemStyle={{ color: 'var(--color-ink)' }}
          isAnimationActive={false}
        />
        {series.map((s) => (
          <Bar key={s.key} dataKey={s.key} name={s.name} fill={s.fill} stackId="all" isAnimationActive={false} />
        ))}
      </BarChart>
    </ResponsiveContainer>
  )
}
