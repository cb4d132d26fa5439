#!/usr/bin/env escript
%% An echo of lines on Ranch, without and with TLS. Arguments: the directory with Ranch's
%% modules, and a file with a certificate and its key. Prints both ports, and ends with
%% its standard input.
-module(ranch_echo).
-mode(compile).
-export([main/1, start_link/3, serve/2]).

-define(LONGEST, 65536).
-define(IDLE_MS, 60000).

main([Ranch, Pem]) ->
    %% Ranch starts a module by its name, so it has to be a loaded one
    true = code:add_patha(Ranch),
    logger:set_primary_config(level, none),
    {ok, _} = application:ensure_all_started(ssl),
    {ok, _} = application:ensure_all_started(ranch),
    Options = [{ip, {127, 0, 0, 1}}, {port, 0}],
    Secure = Options ++ [{certfile, Pem}, {keyfile, Pem}],
    {ok, _} = ranch:start_listener(plain, ranch_tcp, #{socket_opts => Options}, ?MODULE, []),
    {ok, _} = ranch:start_listener(tls, ranch_ssl, #{socket_opts => Secure}, ?MODULE, []),
    io:format("~w ~w~n", [ranch:get_port(plain), ranch:get_port(tls)]),
    wait_for_end().

wait_for_end() ->
    case io:get_line("") of
        eof -> halt(0);
        _ -> wait_for_end()
    end.

start_link(Listener, Transport, _) ->
    {ok, spawn_link(?MODULE, serve, [Listener, Transport])}.

serve(Listener, Transport) ->
    {ok, Socket} = ranch:handshake(Listener),
    ok = Transport:setopts(Socket, [{packet, line}, {packet_size, ?LONGEST}, {buffer, ?LONGEST}]),
    echo(Socket, Transport).

echo(Socket, Transport) ->
    case Transport:recv(Socket, 0, ?IDLE_MS) of
        {ok, Line} -> answer(Socket, Transport, Line);
        {error, _} -> Transport:close(Socket)
    end.

%% A line that does not fit into the buffer comes without its end
answer(Socket, Transport, Line) ->
    Ended = byte_size(Line) > 0 andalso binary:last(Line) =:= $\n,
    case Ended andalso Transport:send(Socket, Line) of
        ok -> echo(Socket, Transport);
        _ -> Transport:close(Socket)
    end.
