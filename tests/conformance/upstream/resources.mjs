// Resources: text, binary, a template, and one that can be subscribed to.
import { ResourceTemplate } from '@modelcontextprotocol/server';
import { PNG } from './samples.mjs';

export function addResources(server) {
  const add = (name, mimeType, content) => {
    const uri = `test://${name}`;
    const metadata = { title: name, description: `The ${name} fixture`, mimeType };
    server.registerResource(name, uri, metadata, async () => ({ contents: [{ uri, mimeType, ...content }] }));
  };
  add('static-text', 'text/plain', { text: 'This is the content of the static text resource.' });
  add('static-binary', 'image/png', { blob: PNG });
  add('watched-resource', 'text/plain', { text: 'Watched resource content' });

  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { title: 'template', description: 'The template fixture', mimeType: 'application/json' },
    async (uri, { id }) => ({
      contents: [
        {
          uri: uri.toString(),
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  );

  server.server.setRequestHandler('resources/subscribe', async () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', async () => ({}));
}
