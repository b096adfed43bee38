/** Every chart this process knows. */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import type { ChartEntry } from '../pictures.ts'
import { useResource } from './api.ts'
import { Chart } from './chart.tsx'
import { counts, stateCounts } from './live.ts'
import { Loaded, Panel } from './parts.tsx'
import { go, link } from './router.ts'

export function ChartsScreen(): JSX.Element {
  const charts = useResource<{ readonly charts: readonly ChartEntry[] }>('/charts')
  return (
    <>
      <h1>Charts</h1>
      <Loaded of={charts}>
        {({ charts: list }) => (
          <div class="gallery">
            {list.map((entry) => (
              <Entry key={`${entry.kind} ${entry.type} ${entry.version}`} of={entry} />
            ))}
          </div>
        )}
      </Loaded>
    </>
  )
}

function Entry({ of: { kind, type, version, title, description, jobs } }: { readonly of: ChartEntry }): JSX.Element {
  if (kind !== 'machine' || type === null) {
    return (
      <Panel
        title={kind === 'job' ? 'Every job' : 'This runtime'}
        id={kind}
        aside={<span class="muted">{description}</span>}
      >
        {kind === 'job' ? (
          <Chart
            path="/charts/job.svg"
            counts={counts.value === null ? undefined : stateCounts(counts.value)}
            pulse={null}
            onState={(state) => go(link('jobs', '', { state }))}
          />
        ) : (
          <Chart path="/charts/runtime.svg" />
        )}
      </Panel>
    )
  }
  const query = new URLSearchParams({ type, version: version ?? '' })
  return (
    <Panel
      title={`${title}, version ${version}`}
      aside={<a href={link('jobs', '', { type })}>{counted(jobs ?? 0, 'live job')}</a>}
    >
      {description !== null && <p class="muted">{description}</p>}
      <Chart
        path={`/charts/machine.svg?${query}`}
        onState={(machineState) => go(link('jobs', '', { type, machineState }))}
      />
    </Panel>
  )
}
